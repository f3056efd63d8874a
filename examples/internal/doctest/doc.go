// Package doctest runs the commands that README.md and docs/server.md show, and compares
// the answers. It has tests only. They are in this module because they need the server.
package doctest
