thinpipe train --help
