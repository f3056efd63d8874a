package management

import (
	"crypto/sha256"
	"encoding/hex"
)

// maxKeyLength bounds the keys that are looked up, in bytes; those that are made here
// are shorter.
const maxKeyLength = 100

// NewProjectKey returns a new project API key (management.md §1.1).
func NewProjectKey() string { return "phc_" + randomToken(32) }

// NewSecretKey returns a new project secret key. It is shown once and stored as
// its hash only.
func NewSecretKey() string { return "phs_" + randomToken(32) }

// NewPersonalKey returns a new personal API key. Like the other keys, it has 256 random
// bits. It is shown once and stored as its hash only.
func NewPersonalKey() string { return "phx_" + randomToken(32) }

// maskOf returns the part of a key that may be shown.
func maskOf(key string) string { return key[:4] + "..." + key[len(key)-4:] }

// HashKey returns the text that is stored for a secret key: sha256$ and the hash in
// hexadecimal. Keys are random enough to need no salt (management.md §1.2).
func HashKey(key string) string {
	sum := sha256.Sum256([]byte(key))
	return "sha256$" + hex.EncodeToString(sum[:])
}
