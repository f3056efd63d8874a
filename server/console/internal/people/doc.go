// Package people names persons, lists them, and finds them by their names.
package people
