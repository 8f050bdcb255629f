# Corrects manual pages of ArgumentParser, which gives --no-X the text of --X, and fails if two entries of a page still have the same.
FNR == 1 { split("", entries) }
/^\.It Fl -no-/ {
    print
    print "Takes back"
    print ".Fl -" substr($0, length(".It Fl -no-") + 1)
    print "where the environment or the configuration file sets it."
    isReplaced = 1
    next
}
/^\./ { isReplaced = 0 }
isReplaced { next }
/^\.It / { entry = $0 }
entry != "" && !/^\./ {
    if ($0 in entries) {
        print FILENAME ": two entries have the same text: " entries[$0] ", " entry > "/dev/stderr"
        status = 1
    }
    entries[$0] = entry
    entry = ""
}
{ print }
END { exit status }
