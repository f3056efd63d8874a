package quota_test

import (
	"context"
	"fmt"

	"github.com/flagstaff-go/flagstaff/management/memstore"
	"github.com/flagstaff-go/flagstaff/management/quota"
)

func ExampleQuota() {
	ctx := context.Background()
	q, err := quota.New(quota.Config{Store: new(memstore.Store), Limit: 2, Period: quota.Month})
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
