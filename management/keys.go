package management

// maxKeyLength bounds the keys that are looked up, in bytes; those that are made here
// are shorter.
const maxKeyLength = 100

// maskOf returns the part of a key that may be shown.
func maskOf(key string) string { return key[:4] + "..." + key[len(key)-4:] }
