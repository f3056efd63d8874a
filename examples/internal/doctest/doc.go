// Package doctest runs what README.md and docs/server.md show, and compares their code
// with the programs that it comes from. It has tests only. They are in this module
// because they need the server.
package doctest
