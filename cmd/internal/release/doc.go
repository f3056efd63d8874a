// Package release knows which release a program is.
package release
