; What the installer says beyond NSIS's own texts, in the languages of the program.

!macro TEXT NAME ENGLISH GERMAN
  LangString ${NAME} ${LANG_ENGLISH} "${ENGLISH}"
  LangString ${NAME} ${LANG_GERMAN} "${GERMAN}"
!macroend

!insertmacro TEXT SUMMARY "Chat with a language model on this computer" \
  "Mit einem Sprachmodell auf diesem Rechner sprechen"
!insertmacro TEXT ASSOCIATION "Offer Clover for model files (.gguf)" "Clover für Modelldateien (.gguf) anbieten"
!insertmacro TEXT DESKTOP_SHORTCUT "Shortcut on the desktop" "Verknüpfung auf dem Desktop"
!insertmacro TEXT PERSONAL "Chats, settings and models" "Chats, Einstellungen und Modelle"
!insertmacro TEXT MODEL_FILE "Language model (GGUF)" "Sprachmodell (GGUF)"

!insertmacro TEXT ABOUT_PROGRAM "The program, for you alone. No administrator's rights are needed." \
  "Das Programm, nur für Sie. Administratorrechte sind nicht nötig."
!insertmacro TEXT ABOUT_ASSOCIATION \
  "Clover is listed under “Open with” for .gguf files. What opens them now stays as it is." \
  "Clover steht für .gguf-Dateien unter „Öffnen mit“. Womit sie sich bisher öffnen, bleibt unverändert."
!insertmacro TEXT ABOUT_DESKTOP "A second shortcut beside the one in the Start menu." \
  "Eine zweite Verknüpfung neben der im Startmenü."
!insertmacro TEXT ABOUT_UNINSTALL "Removes the program and its entries in Windows." \
  "Entfernt das Programm und seine Einträge in Windows."
!insertmacro TEXT ABOUT_PERSONAL \
  "Deletes the whole data folder: chats, settings, downloaded models. This cannot be undone." \
  "Löscht den ganzen Datenordner: Chats, Einstellungen, heruntergeladene Modelle. Endgültig."

!insertmacro TEXT RUNNING "Clover is running, or its files are in use. Close it, then try again." \
  "Clover läuft noch, oder seine Dateien sind in Gebrauch. Schließen Sie es und versuchen Sie es noch einmal."
!insertmacro TEXT NOT_WRITTEN \
  "Not all files could be written to $INSTDIR. Make room there or choose another folder, then try again." \
  "Nach $INSTDIR konnten nicht alle Dateien geschrieben werden. Schaffen Sie dort Platz oder wählen Sie einen anderen Ordner und versuchen Sie es noch einmal."
!insertmacro TEXT TOO_OLD "Clover needs Windows 10 or newer." "Clover braucht Windows 10 oder neuer."
