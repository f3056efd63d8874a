package sqldb

import (
	"context"
	"database/sql"
	"encoding/base64"
	"fmt"
	"regexp"
)

// sealedPayload finds the encrypted payloads in the filters of a flag. Four
// characters of base64 are three bytes.
var sealedPayload = regexp.MustCompile(`"sealed:([A-Za-z0-9+/]{4})`)

// Sealed implements [storage.Sealed].
func (db *DB) Sealed(ctx context.Context) (map[[3]byte]int, error) {
	sealed := make(map[[3]byte]int)
	count := func(beginning []byte, n int) {
		if len(beginning) == 3 {
			sealed[[3]byte(beginning)] += n
		}
	}
	for _, query := range []string{
		"SELECT substr(secret, 1, 3), count(*) FROM user_totp GROUP BY 1",
		"SELECT substr(code, 1, 3), count(*) FROM user_backup_code WHERE code IS NOT NULL GROUP BY 1",
	} {
		err := db.read(ctx, query, nil, eachPair(count))
		if err != nil {
			return nil, fmt.Errorf("count secrets: %w", err)
		}
	}
	err := db.read(ctx, "SELECT filters FROM feature_flag WHERE has_encrypted_payloads = ?", []any{true}, func(r *sql.Rows) error {
		var filters string
		if err := r.Scan(&filters); err != nil {
			return err
		}
		for _, found := range sealedPayload.FindAllStringSubmatch(filters, -1) {
			if beginning, err := base64.StdEncoding.DecodeString(found[1]); err == nil {
				count(beginning, 1)
			}
		}
		return nil
	})
	return sealed, wrap("count encrypted payloads", err)
}
