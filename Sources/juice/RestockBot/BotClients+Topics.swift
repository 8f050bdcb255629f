import JuiceService
import Kafka

extension BotClients {
    /// Waits for the cluster and looks whether the topics are there.
    ///
    /// - Returns: false when somebody wants it to end before that.
    func findTopics(_ deadline: Deadline?, isEnded: () -> Bool) throws(Failure) -> Bool {
        let consumer = try logEnds()
        defer { consumer.close() }
        while !isEnded() {
            let metadata: ClusterMetadata
            do throws(KafkaError) {
                metadata = try consumer.metadata(
                    topics: [connection.topics.restocks, connection.topics.results, connection.topics.stock],
                    timeout: .seconds(2)
                )
                if let error = metadata.topics.lazy.compactMap(\.error).first { throw error }
            } catch {
                guard error.remedy == .retry else { throw connection.failure(error) }
                watch.failed(error)
                if deadline?.isOver ?? false { throw connection.unavailable }
                continue
            }
            watch.reached()
            guard Set(metadata.topics.map(\.partitionCount)).count == 1 else {
                throw Failure(
                    .configuration,
                    "restocks, results and stock have unequal numbers of partitions",
                    hint: "`juice topics check` tells more"
                )
            }
            return true
        }
        return false
    }
}

extension KafkaError.Code {
    /// What no retry and no new client will change: a right that is denied, a setting that is refused.
    var isHopeless: Bool {
        let others: Set<KafkaError.Code> = [
            .inconsistentGroupProtocol, .invalidTransactionTimeout, .invalidSessionTimeout, .invalidGroupID,
            .invalidArgument, .unsupportedFeature, .unsupportedVersion, .unsupportedForMessageFormat,
        ]
        return isDenial || others.contains(self)
    }
}
