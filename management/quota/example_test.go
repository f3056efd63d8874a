package quota_test

import (
	"context"
	"fmt"

	"github.com/flagstaff-go/flagstaff/management/quota"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite"
)

func ExampleQuota() {
	ctx := context.Background()
	store, err := sqlite.Open(ctx, sqlite.Memory, sqlstore.Options{})
	if err != nil {
		panic(err)
	}
	defer store.Close()
	q, err := quota.New(quota.Config{Store: store, Limit: 2, Period: quota.Month})
	if err != nil {
		panic(err)
	}
	if err := q.Load(ctx, "acme"); err != nil {
		panic(err)
	}
	for range 3 {
		fmt.Println(q.Take("acme", 1))
	}
	if err := q.SetLimit(ctx, "acme", 10); err != nil {
		panic(err)
	}
	fmt.Println(q.Take("acme", 1))
	fmt.Println(q.Usage("acme"))
	// Output:
	// true
	// true
	// false
	// true
	// 3 10
}
