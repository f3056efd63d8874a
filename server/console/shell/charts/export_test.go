package charts

// Shares is shares of counts.
func SharesX(whole int, parts []int) []float64 { return Shares(whole, parts) }

// FloatShares is shares of 100.
func FloatShares(parts []float64) []float64 { return Shares(100, parts) }
