"""Speech: words from recordings and recordings from words, through an endpoint or offline."""
