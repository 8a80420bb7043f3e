// The Git server: an installed git, the standard library and SSH.
module stackflux.testbed/git-server

go 1.26.0

require golang.org/x/crypto v0.54.0
