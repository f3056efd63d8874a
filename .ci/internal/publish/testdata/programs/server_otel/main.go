package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/flagstaff-go/flagstaff/server/otel"
)

func main() {
	tracing := otel.New(otel.Options{})
	ctx, end := tracing.OnRequest(httptest.NewRequest(http.MethodGet, "/flags", nil), "/flags")
	fmt.Println(ctx.Err())
	end(http.StatusOK, "id")
}

// Output:
// <nil>
