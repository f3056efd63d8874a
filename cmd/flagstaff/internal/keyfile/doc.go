// Package keyfile reads and makes files with the keys that encrypt the secrets of a
// store.
package keyfile
