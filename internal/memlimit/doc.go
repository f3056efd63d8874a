// Package memlimit finds out how much memory the process may have, for defaults that
// depend on it.
package memlimit
