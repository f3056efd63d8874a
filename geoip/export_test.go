package geoip

// OpenContent is like Open, but takes the content in place of a file.
func OpenContent(content []byte, o Options) (*Resolver, error) {
	r := &Resolver{path: "content", options: o.withDefaults(), closed: make(chan struct{})}
	if err := r.load(content); err != nil {
		return nil, err
	}
	return r, nil
}

// Settled is how long Watch leaves a changed file alone.
const Settled = settled
