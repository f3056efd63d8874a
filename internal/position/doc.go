// Package position finds the place of a problem in the text of a definitions document,
// so that an editor can go there.
package position
