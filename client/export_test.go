package client

// Listeners counts those that events are kept for.
func Listeners(c *Client) int {
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	return len(c.hub.listeners)
}

// Emit gives all listeners an event.
func Emit(c *Client, e Event) { c.hub.emit(e) }
