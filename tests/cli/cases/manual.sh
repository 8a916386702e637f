# groff has nothing to complain about.
command -v groff > /dev/null || { echo "no groff"; exit 77; }
thinpipe --man | groff -man -Tutf8 -ww > manual.txt
grep -c . manual.txt > /dev/null && echo formatted
