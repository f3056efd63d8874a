package storage

import (
	"crypto/sha256"
	"encoding/hex"
)

// NewProjectKey returns a new project API key (management.md §1.1).
func NewProjectKey() string { return "phc_" + RandomToken(32) }

// NewSecretKey returns a new project secret key. It is shown once and stored as
// its hash only.
func NewSecretKey() string { return "phs_" + RandomToken(32) }

// NewPersonalKey returns a new personal API key. Like the other keys, it has 256 random
// bits. It is shown once and stored as its hash only.
func NewPersonalKey() string { return "phx_" + RandomToken(32) }

// HashKey returns the text that is stored for a secret key: sha256$ and the hash in
// hexadecimal. Keys are random enough to need no salt (management.md §1.2).
func HashKey(key string) string {
	sum := sha256.Sum256([]byte(key))
	return "sha256$" + hex.EncodeToString(sum[:])
}
