// The Git server: the standard library and an installed git, nothing else.
module stackflux.testbed/git-server

go 1.26.0
