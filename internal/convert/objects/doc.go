// Package objects reads the objects of other products' documents, and says in words what it does
// not know of them.
package objects
