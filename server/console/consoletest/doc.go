// Package consoletest runs a console on a store in memory for tests of screens: it presses
// buttons, reads pages as a browser does, and holds what they answer to what all pages promise.
package consoletest
