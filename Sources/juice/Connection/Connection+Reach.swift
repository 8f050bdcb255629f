import Kafka

extension Connection {
    /// An admin client of a broker that answers.
    func admin(reachedWithin timeout: Duration) throws(Failure) -> Admin {
        let admin = try admin()
        try reach(admin, deadline: Deadline(after: timeout))
        return admin
    }

    /// Waits until a broker answers.
    ///
    /// librdkafka tries a refused connection again until the time is over, but no wrong password becomes right by that. A
    /// broker that is only slow gets more time with each attempt.
    /// - Throws: ``Failure`` of status ``Failure/Status/unavailable``; when the connection is refused, soon.
    func reach(_ client: some ClusterAsker, deadline: Deadline) throws(Failure) {
        var timeout = Duration.seconds(2)
        while true {
            do throws(KafkaError) {
                _ = try client.metadata(topics: [], timeout: deadline.step(timeout))
                return
            } catch {
                if isRefused || deadline.isOver || error.remedy != .retry { throw failure(error) }
            }
            timeout *= 2
        }
    }
}
