; The Windows installer: for one person, without administrator's rights. make_setup.py calls makensis with
;   VERSION, VERSION_NUMBERS (four numbers), PAYLOAD (the frozen folder), FILES (two lists made of it),
;   ICON, BANNER, OUT, SIZE_KB, COMPRESSION
;
; Clover-x.y.z-x64.exe /S             silent: no window, no question
;                      /S /D=C:\Place silent, into another folder (must come last, without quotes)
;                      /S /NOASSOC    silent, without the entry in "Open with"
;                      /S /DESKTOP    silent, with a shortcut on the desktop
; uninstall.exe /S                    silent; chats, settings and models stay
; uninstall.exe /S /PURGE             silent; they go too
;
; Exit codes of both: 0 done, 1 cancelled, 2 failed, 3 Clover is running.

Target amd64-unicode
Name "Clover"
OutFile "${OUT}"
RequestExecutionLevel user
SetCompressor /SOLID ${COMPRESSION}
InstallDir "$LOCALAPPDATA\Programs\Clover"
InstallDirRegKey HKCU "Software\Clover" "InstallDir"
ManifestDPIAware true
ManifestLongPathAware true
ManifestSupportedOS Win10
AllowSkipFiles off ; a program with holes is worse than none
BrandingText "Clover ${VERSION}"
ShowInstDetails nevershow
ShowUninstDetails nevershow

!include "MUI2.nsh"
!include "LogicLib.nsh"
!include "Sections.nsh"
!include "FileFunc.nsh"
!include "WinVer.nsh"

!define PROGRAM "clover-gui.exe"
!define TERMINAL_PROGRAM "clover-gui-terminal.exe"
!define UNINSTALL_KEY "Software\Microsoft\Windows\CurrentVersion\Uninstall\Clover"
!define MODEL_CLASS "Clover.Model"
; Where chats, settings and models lie (clover_gui/paths.py), usually and when the program is portable.
!define DATA "$LOCALAPPDATA\clover-gui"
!define PORTABLE_DATA "$INSTDIR\clover-data"
!define EXIT_FAILED 2
!define EXIT_RUNNING 3

!define MUI_ICON "${ICON}"
!define MUI_UNICON "${ICON}"
!define MUI_WELCOMEFINISHPAGE_BITMAP "${BANNER}"
!define MUI_ABORTWARNING
!define MUI_COMPONENTSPAGE_SMALLDESC
!define MUI_FINISHPAGE_RUN "$INSTDIR\${PROGRAM}"

!insertmacro MUI_PAGE_COMPONENTS
!insertmacro MUI_PAGE_DIRECTORY
!insertmacro MUI_PAGE_INSTFILES
!insertmacro MUI_PAGE_FINISH
!insertmacro MUI_UNPAGE_COMPONENTS
!insertmacro MUI_UNPAGE_INSTFILES

; The first one is taken where Windows speaks neither.
!insertmacro MUI_LANGUAGE "English"
!insertmacro MUI_LANGUAGE "German"
!include "texts.nsh"

VIProductVersion "${VERSION_NUMBERS}"
VIFileVersion "${VERSION_NUMBERS}"
!macro VERSION_TEXTS LANGUAGE DESCRIPTION
  VIAddVersionKey /LANG=${LANGUAGE} "ProductName" "Clover"
  VIAddVersionKey /LANG=${LANGUAGE} "ProductVersion" "${VERSION}"
  VIAddVersionKey /LANG=${LANGUAGE} "FileVersion" "${VERSION}"
  VIAddVersionKey /LANG=${LANGUAGE} "FileDescription" "${DESCRIPTION}"
  VIAddVersionKey /LANG=${LANGUAGE} "CompanyName" "Clover GUI developers"
  VIAddVersionKey /LANG=${LANGUAGE} "LegalCopyright" "Clover GUI developers, Apache-2.0"
!macroend
!insertmacro VERSION_TEXTS ${LANG_ENGLISH} "Installer of Clover"
!insertmacro VERSION_TEXTS ${LANG_GERMAN} "Installationsprogramm von Clover"

; A program that runs cannot be opened for writing: this finds the window, the terminal front end and an
; engine that was left over, which are all one of these two files. $R9 is the folder to look in.
!macro REFUSE_WHILE_RUNNING UN
  Function ${UN}IsInUse ; $R8: the file; sets the error flag
    ClearErrors
    ${If} ${FileExists} "$R8"
      FileOpen $R8 "$R8" a
      FileClose $R8
    ${EndIf}
  FunctionEnd

  Function ${UN}RefuseWhileRunning
    again:
    ; Asking for the error flag clears it, so each file is asked about at once.
    StrCpy $R8 "$R9\${PROGRAM}"
    Call ${UN}IsInUse
    IfErrors in_use
    StrCpy $R8 "$R9\${TERMINAL_PROGRAM}"
    Call ${UN}IsInUse
    IfErrors in_use
    Return
    in_use:
    MessageBox MB_RETRYCANCEL|MB_ICONEXCLAMATION "$(RUNNING)" /SD IDCANCEL IDRETRY again
    SetErrorLevel ${EXIT_RUNNING}
    Quit
  FunctionEnd
!macroend
!insertmacro REFUSE_WHILE_RUNNING ""
!insertmacro REFUSE_WHILE_RUNNING "un."

Section "!Clover" PROGRAM_SECTION
  SectionIn RO
  StrCpy $R9 "$INSTDIR"
  Call RefuseWhileRunning
  ; Another place than before, or another version: the files of the old one go first, what people made stays.
  ReadRegStr $R0 HKCU "Software\Clover" "InstallDir"
  ${If} $R0 != ""
  ${AndIf} ${FileExists} "$R0\uninstall.exe"
    StrCpy $R9 "$R0"
    Call RefuseWhileRunning
    ExecWait '"$R0\uninstall.exe" /S /UPDATE _?=$R0'
    Delete "$R0\uninstall.exe"
    RMDir "$R0"
  ${EndIf}
  ClearErrors
  SetOutPath "$INSTDIR"
  !include "${FILES}\install.nsh"
  SetOutPath "$INSTDIR"
  ${If} ${Errors}
    MessageBox MB_OK|MB_ICONSTOP "$(NOT_WRITTEN)" /SD IDOK
    SetErrorLevel ${EXIT_FAILED}
    Quit
  ${EndIf}
  WriteUninstaller "$INSTDIR\uninstall.exe"
  CreateShortCut "$SMPROGRAMS\Clover.lnk" "$INSTDIR\${PROGRAM}" "" "$INSTDIR\${PROGRAM}" 0 SW_SHOWNORMAL "" "$(SUMMARY)"
  WriteRegStr HKCU "Software\Clover" "InstallDir" "$INSTDIR"
  WriteRegStr HKCU "${UNINSTALL_KEY}" "DisplayName" "Clover"
  WriteRegStr HKCU "${UNINSTALL_KEY}" "DisplayVersion" "${VERSION}"
  WriteRegStr HKCU "${UNINSTALL_KEY}" "DisplayIcon" "$INSTDIR\${PROGRAM},0"
  WriteRegStr HKCU "${UNINSTALL_KEY}" "Publisher" "Clover GUI developers"
  WriteRegStr HKCU "${UNINSTALL_KEY}" "InstallLocation" "$INSTDIR"
  WriteRegStr HKCU "${UNINSTALL_KEY}" "UninstallString" '"$INSTDIR\uninstall.exe"'
  WriteRegStr HKCU "${UNINSTALL_KEY}" "QuietUninstallString" '"$INSTDIR\uninstall.exe" /S'
  WriteRegDWORD HKCU "${UNINSTALL_KEY}" "EstimatedSize" ${SIZE_KB}
  WriteRegDWORD HKCU "${UNINSTALL_KEY}" "NoModify" 1
  WriteRegDWORD HKCU "${UNINSTALL_KEY}" "NoRepair" 1
SectionEnd

; One more program in "Open with": what opens .gguf files by default is not touched.
Section "$(ASSOCIATION)" ASSOCIATION_SECTION
  WriteRegStr HKCU "Software\Classes\${MODEL_CLASS}" "" "$(MODEL_FILE)"
  WriteRegStr HKCU "Software\Classes\${MODEL_CLASS}\DefaultIcon" "" "$INSTDIR\${PROGRAM},0"
  WriteRegStr HKCU "Software\Classes\${MODEL_CLASS}\shell\open\command" "" '"$INSTDIR\${PROGRAM}" --model "%1"'
  WriteRegStr HKCU "Software\Classes\.gguf\OpenWithProgids" "${MODEL_CLASS}" ""
  WriteRegStr HKCU "Software\Classes\Applications\${PROGRAM}" "FriendlyAppName" "Clover"
  WriteRegStr HKCU "Software\Classes\Applications\${PROGRAM}\SupportedTypes" ".gguf" ""
  WriteRegStr HKCU "Software\Classes\Applications\${PROGRAM}\shell\open\command" "" '"$INSTDIR\${PROGRAM}" --model "%1"'
  ${RefreshShellIcons}
SectionEnd

Section /o "$(DESKTOP_SHORTCUT)" DESKTOP_SECTION
  CreateShortCut "$DESKTOP\Clover.lnk" "$INSTDIR\${PROGRAM}" "" "$INSTDIR\${PROGRAM}" 0 SW_SHOWNORMAL "" "$(SUMMARY)"
SectionEnd

!insertmacro MUI_FUNCTION_DESCRIPTION_BEGIN
  !insertmacro MUI_DESCRIPTION_TEXT ${PROGRAM_SECTION} "$(ABOUT_PROGRAM)"
  !insertmacro MUI_DESCRIPTION_TEXT ${ASSOCIATION_SECTION} "$(ABOUT_ASSOCIATION)"
  !insertmacro MUI_DESCRIPTION_TEXT ${DESKTOP_SECTION} "$(ABOUT_DESKTOP)"
!insertmacro MUI_FUNCTION_DESCRIPTION_END

Function .onInit
  ${IfNot} ${AtLeastWin10}
    MessageBox MB_OK|MB_ICONSTOP "$(TOO_OLD)" /SD IDOK
    SetErrorLevel ${EXIT_FAILED}
    Quit
  ${EndIf}
  ${GetParameters} $R0
  ClearErrors
  ${GetOptions} $R0 "/NOASSOC" $R1
  ${IfNot} ${Errors}
    !insertmacro UnselectSection ${ASSOCIATION_SECTION}
  ${EndIf}
  ClearErrors
  ${GetOptions} $R0 "/DESKTOP" $R1
  ${IfNot} ${Errors}
  ${OrIf} ${FileExists} "$DESKTOP\Clover.lnk"
    !insertmacro SelectSection ${DESKTOP_SECTION}
  ${EndIf}
FunctionEnd

Section "!un.Clover" UN_PROGRAM_SECTION
  SectionIn RO
  StrCpy $R9 "$INSTDIR"
  Call un.RefuseWhileRunning
  ; Exactly the files that were installed. A folder with anything else in it stays, as does that.
  !include "${FILES}\uninstall.nsh"
  Delete "$INSTDIR\uninstall.exe"
  ; The current folder cannot be removed.
  SetOutPath "$TEMP"
  RMDir "$INSTDIR" ; stays while it has a portable installation's data
  Delete "$SMPROGRAMS\Clover.lnk"
  DeleteRegKey HKCU "${UNINSTALL_KEY}"
  DeleteRegKey HKCU "Software\Clover"
  DeleteRegKey HKCU "Software\Classes\${MODEL_CLASS}"
  DeleteRegKey HKCU "Software\Classes\Applications\${PROGRAM}"
  DeleteRegValue HKCU "Software\Classes\.gguf\OpenWithProgids" "${MODEL_CLASS}"
  DeleteRegKey /ifempty HKCU "Software\Classes\.gguf\OpenWithProgids"
  DeleteRegKey /ifempty HKCU "Software\Classes\.gguf"
  ${un.RefreshShellIcons}
  ${un.GetParameters} $R0
  ClearErrors
  ${un.GetOptions} $R0 "/UPDATE" $R1
  ${If} ${Errors}
    ; Not an update: the shortcut goes too, and what nobody wrote and can be had again.
    Delete "$DESKTOP\Clover.lnk"
    RMDir /r "${DATA}\Cache"
    RMDir /r "${DATA}\engines"
    RMDir /r "${DATA}\logs"
    RMDir "${DATA}"
  ${EndIf}
SectionEnd

Section /o "un.$(PERSONAL)" UN_PERSONAL_SECTION
  RMDir /r "${DATA}"
  RMDir /r "${PORTABLE_DATA}"
  RMDir "$INSTDIR"
SectionEnd

!insertmacro MUI_UNFUNCTION_DESCRIPTION_BEGIN
  !insertmacro MUI_DESCRIPTION_TEXT ${UN_PROGRAM_SECTION} "$(ABOUT_UNINSTALL)"
  !insertmacro MUI_DESCRIPTION_TEXT ${UN_PERSONAL_SECTION} "$(ABOUT_PERSONAL)"
!insertmacro MUI_UNFUNCTION_DESCRIPTION_END

Function un.onInit
  ${un.GetParameters} $R0
  ClearErrors
  ${un.GetOptions} $R0 "/PURGE" $R1
  ${IfNot} ${Errors}
    !insertmacro SelectSection ${UN_PERSONAL_SECTION}
  ${EndIf}
FunctionEnd
