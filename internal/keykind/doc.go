// Package keykind tells the kinds of keys apart, so that whoever gets a wrong one can say
// what it is. It never repeats a key.
package keykind
