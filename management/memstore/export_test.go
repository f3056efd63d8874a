package memstore

// Buckets returns how many buckets of attempts are remembered.
func (s *Store) Buckets() int {
	s.throttle.mu.Lock()
	defer s.throttle.mu.Unlock()
	return len(s.buckets)
}

// Captured returns how much there is of events and persons.
func (s *Store) Captured() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.events) + len(s.seen) + len(s.ids) + len(s.people) + len(s.types) + len(s.groups) + len(s.cohorts) + len(s.deleted)
}
