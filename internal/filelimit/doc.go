// Package filelimit finds out how many files the process may have open, for defaults that
// depend on it: each connection is one.
package filelimit
