package management

import (
	"crypto/rand"
	"math/big"
	"strings"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management/internal/check"
)

func newID() uuid.UUID { return uuid.Must(uuid.NewV7()) }

// parseIDs returns the IDs of a comma list, without what is none.
func parseIDs(list []string) []uuid.UUID {
	ids := []uuid.UUID{}
	for _, text := range list {
		if id, err := check.ParseID(text); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// randomToken returns n random bytes in base 62 (management.md §1.2), at least four
// characters.
func randomToken(n int) string {
	b := make([]byte, n)
	rand.Read(b) // never fails
	text := new(big.Int).SetBytes(b).Text(62)
	return strings.Repeat("0", max(0, 4-len(text))) + text
}
