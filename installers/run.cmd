@echo off
rem A double click sets Clover up and starts it; setup.ps1 beside this file does the work.
powershell -NoProfile -ExecutionPolicy Bypass -File "%~dp0setup.ps1" %*
if errorlevel 1 if "%~1"=="" pause
