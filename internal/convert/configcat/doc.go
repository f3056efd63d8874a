// Package configcat converts config JSON of ConfigCat, version 6, as its network and its files of
// overrides have it.
package configcat
