package storage

import (
	"crypto/rand"
	"math/big"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Now returns the time as stores keep it.
func Now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// NewID returns a UUID that is greater than those before, give or take a millisecond.
func NewID() uuid.UUID { return uuid.Must(uuid.NewV7()) }

// RandomToken returns n random bytes in base 62 (management.md §1.2), at least four
// characters.
func RandomToken(n int) string {
	b := make([]byte, n)
	rand.Read(b) // never fails
	text := new(big.Int).SetBytes(b).Text(62)
	return strings.Repeat("0", max(0, 4-len(text))) + text
}
