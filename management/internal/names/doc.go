// Package names tells by which names people call a person: its address, its name and its
// user name, which are properties.
package names
