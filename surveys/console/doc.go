// Package console has the screens of surveys for the web console of package server/console:
// the list, the form with its preview, the results and the answers. [Screens] returns them
// for the Config of the console.
package console
