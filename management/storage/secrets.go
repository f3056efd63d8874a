package storage

import (
	"context"
	"fmt"

	"github.com/flagstaff-go/flagstaff/management/internal/seal"
)

// Sealed knows which keys have encrypted what it keeps.
type Sealed interface {
	// Sealed returns, for each beginning of three bytes, how many authenticators,
	// backup codes and payloads of flags begin so. The beginning names the key.
	Sealed(ctx context.Context) (map[[3]byte]int, error)
}

// UnreadableSecrets returns how many authenticators, backup codes and payloads of
// flags in a store were encrypted with none of the keys (management.Config.SecretKeys). A
// program should not start if there are any: users could not sign in, and the keys
// may only be in another place.
func UnreadableSecrets(ctx context.Context, s Sealed, keys [][]byte) (int, error) {
	sealed, err := s.Sealed(ctx)
	if err != nil {
		return 0, err
	}
	box := new(seal.Box)
	if len(keys) > 0 {
		if box, err = seal.New(keys...); err != nil {
			return 0, fmt.Errorf("management: secret keys: %w", err)
		}
	}
	lost := 0
	for beginning, n := range sealed {
		if !box.Knows(beginning[:]) {
			lost += n
		}
	}
	return lost, nil
}
