package management

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"math/big"
	"strings"
)

// The prefixes of keys (management.md §1.1).
const (
	projectKeyPrefix = "phc_"
	secretKeyPrefix  = "phs_"
	personalPrefix   = "phx_"
)

// NewProjectKey returns a new project API key.
func NewProjectKey() string { return projectKeyPrefix + token(32) }

// NewSecretKey returns a new project secret key. It is shown once and stored as
// its hash only.
func NewSecretKey() string { return secretKeyPrefix + token(32) }

// NewPersonalKey returns a new personal API key, with 256 random bits as the
// others. It is shown once and stored as its hash only.
func NewPersonalKey() string { return personalPrefix + token(32) }

// IsSecret reports whether a key has the form of a project's secret key or of a
// personal API key, unlike those of projects, which everybody may see.
func IsSecret(key string) bool {
	return strings.HasPrefix(key, secretKeyPrefix) || strings.HasPrefix(key, personalPrefix)
}

// maskOf returns what of a key can be shown.
func maskOf(key string) string { return key[:4] + "..." + key[len(key)-4:] }

// token returns n random bytes in base 62 (management.md §1.2), at least four
// characters.
func token(n int) string {
	b := make([]byte, n)
	rand.Read(b) // never fails
	text := new(big.Int).SetBytes(b).Text(62)
	return strings.Repeat("0", max(0, 4-len(text))) + text
}

// HashKey returns what is stored of a secret key: sha256$ and the hash in
// hexadecimal. Keys are random enough to need no salt (management.md §1.2).
func HashKey(key string) string {
	sum := sha256.Sum256([]byte(key))
	return "sha256$" + hex.EncodeToString(sum[:])
}
