package management

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// The prefixes of keys (management.md §1.1).
const (
	projectKeyPrefix = "phc_"
	secretKeyPrefix  = "phs_"
	personalPrefix   = "phx_"
)

// maxKeyLength bounds the keys that are looked up, in bytes; those that are made here
// are shorter.
const maxKeyLength = 100

// NewProjectKey returns a new project API key.
func NewProjectKey() string { return projectKeyPrefix + randomToken(32) }

// NewSecretKey returns a new project secret key. It is shown once and stored as
// its hash only.
func NewSecretKey() string { return secretKeyPrefix + randomToken(32) }

// NewPersonalKey returns a new personal API key. Like the other keys, it has 256 random
// bits. It is shown once and stored as its hash only.
func NewPersonalKey() string { return personalPrefix + randomToken(32) }

// IsSecret reports whether a key has the form of a project secret key or of a personal
// API key. A project API key is not secret.
func IsSecret(key string) bool {
	return strings.HasPrefix(key, secretKeyPrefix) || strings.HasPrefix(key, personalPrefix)
}

// maskOf returns the part of a key that may be shown.
func maskOf(key string) string { return key[:4] + "..." + key[len(key)-4:] }

// HashKey returns the text that is stored for a secret key: sha256$ and the hash in
// hexadecimal. Keys are random enough to need no salt (management.md §1.2).
func HashKey(key string) string {
	sum := sha256.Sum256([]byte(key))
	return "sha256$" + hex.EncodeToString(sum[:])
}
