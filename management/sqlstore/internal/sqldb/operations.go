package sqldb

import (
	"context"

	"github.com/flagstaff-go/flagstaff/management/sqlstore"
)

// begin tells Options.OnOperation that an operation begins. The caller goes on with the
// context, and calls end with the outcome.
func (db *DB) begin(ctx context.Context, o sqlstore.Operation) (_ context.Context, end func(error)) {
	if db.o.OnOperation != nil {
		if ctx, end = db.o.OnOperation(ctx, o); end != nil {
			return ctx, end
		}
	}
	return ctx, func(error) {}
}
