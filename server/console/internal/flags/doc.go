// Package flags has the screens of flags: the list, the form with its review, the history, the
// switch, and how programs are connected.
package flags
