// Package flags has the screens of flags: the list, the page of a flag, its form with its review and
// its conflicts, two versions side by side, the history, the switch, and how programs are connected.
package flags
