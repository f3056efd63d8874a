package management

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"math/big"
)

// The prefixes of keys (management.md §1.1).
const (
	projectKeyPrefix = "phc_"
	secretKeyPrefix  = "phs_"
)

// NewProjectKey returns a new project API key.
func NewProjectKey() string { return projectKeyPrefix + token() }

// NewSecretKey returns a new project secret key. It is shown once and stored as
// its hash only.
func NewSecretKey() string { return secretKeyPrefix + token() }

// token returns 256 random bits in base 62 (management.md §1.2).
func token() string {
	b := make([]byte, 32)
	rand.Read(b) // never fails
	return new(big.Int).SetBytes(b).Text(62)
}

// HashKey returns what is stored of a secret key: sha256$ and the hash in
// hexadecimal. Keys are random enough to need no salt (management.md §1.2).
func HashKey(key string) string {
	sum := sha256.Sum256([]byte(key))
	return "sha256$" + hex.EncodeToString(sum[:])
}
