package management

import (
	"crypto/rand"
	"math/big"
	"strings"

	"github.com/google/uuid"
)

// newID returns a UUID that is greater than those before, give or take a millisecond.
func newID() uuid.UUID { return uuid.Must(uuid.NewV7()) }

// randomToken returns n random bytes in base 62 (management.md §1.2), at least four
// characters.
func randomToken(n int) string {
	b := make([]byte, n)
	rand.Read(b) // never fails
	text := new(big.Int).SetBytes(b).Text(62)
	return strings.Repeat("0", max(0, 4-len(text))) + text
}
