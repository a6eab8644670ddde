<#
.SYNOPSIS
    Finds Python, sets Clover up and starts it.
.DESCRIPTION
    The same as "py installers\run.py", for those who do not know whether they have Python. Where there is
    none that is new enough, it asks before it installs one with winget, for this person only. Everything
    else is done by run.py, to which all arguments go.
.EXAMPLE
    powershell -ExecutionPolicy Bypass -File installers\setup.ps1
.EXAMPLE
    powershell -ExecutionPolicy Bypass -File installers\setup.ps1 doctor
.NOTES
    Runs in the PowerShell 5.1 that Windows brings. Exit codes: those of run.py; 20 without a Python.
#>
# No param(): everything lands in $args as it is, also what begins with dashes.
Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'

$OldestMinor = 11
$NewestMinor = 14
$WingetPackage = 'Python.Python.3.13'
$ExitWithoutPython = 20

function Test-Python {
    # Whether this command is a Python that is new enough. The stub that opens the Microsoft Store answers
    # with an error, and so does a launcher without the asked version.
    param(
        [Parameter(Mandatory = $true)] [string] $Command,
        [string[]] $Options = @()
    )
    $check = "import sys; sys.exit(0 if sys.version_info[:2] >= (3, $OldestMinor) and sys.maxsize > 2**32 else 1)"
    try {
        & $Command @Options -c $check 2>&1 | Out-Null
        return $LASTEXITCODE -eq 0
    } catch {
        return $false
    }
}

function Find-Python {
    # The first Python that serves, as a command with its options; $null without one.
    $candidates = @()
    for ($minor = $NewestMinor; $minor -ge $OldestMinor; $minor--) {
        $candidates += , @('py', "-3.$minor")
    }
    $candidates += , @('python')
    $candidates += , @('python3')
    for ($minor = $NewestMinor; $minor -ge $OldestMinor; $minor--) {
        # Where the installer puts it; a window that was open before does not have it on its path yet.
        $candidates += , @((Join-Path $env:LOCALAPPDATA "Programs\Python\Python3$minor\python.exe"))
    }
    foreach ($candidate in $candidates) {
        if (-not (Get-Command $candidate[0] -ErrorAction SilentlyContinue)) {
            continue
        }
        $options = @($candidate | Select-Object -Skip 1)
        if (Test-Python -Command $candidate[0] -Options $options) {
            return , $candidate
        }
    }
    return $null
}

function Install-Python {
    # Asks, then installs; whether it worked.
    if (-not (Get-Command 'winget' -ErrorAction SilentlyContinue)) {
        return $false
    }
    $question = 'Clover needs Python 3.11 or newer, and this computer has none. ' +
        'Install it now for you, without administrator rights? [y/N]'
    $answer = Read-Host $question
    if ($answer -notmatch '^[yYjJ]') {
        return $false
    }
    & winget install --exact --id $WingetPackage --scope user | Out-Host
    return $LASTEXITCODE -eq 0
}

$python = Find-Python
if (($null -eq $python) -and (Install-Python)) {
    $python = Find-Python
}
if ($null -eq $python) {
    [Console]::Error.WriteLine('Python 3.11 or newer (64 bit) is needed. Get it from python.org, then start this again.')
    exit $ExitWithoutPython
}
$options = @($python | Select-Object -Skip 1)
& $python[0] @options (Join-Path $PSScriptRoot 'run.py') @args
exit $LASTEXITCODE
