import Foundation
import JuiceMessages
import Kafka
import Logging

/// An embedded broker with the service's topics, announced to this user's other commands.
///
/// Starting and stopping it blocks briefly, so use it on the main thread.
final class EmbeddedKafka {
    let bootstrapServers: String
    private var broker: EmbeddedBroker?
    private var announcement: RunFiles.Announcement?

    /// Starts the broker.
    ///
    /// - Parameter runFiles: where to announce the broker; nil does not announce it.
    init(topics: TopicNames, partitions: Int, runFiles: RunFiles?, logger: Logger) throws(Failure) {
        do throws(KafkaError) {
            let broker = try EmbeddedBroker(logger: logger)
            for name in topics.all { try broker.createTopic(name, partitionCount: partitions) }
            (self.broker, bootstrapServers) = (broker, broker.bootstrapServers)
        } catch { throw Failure(.configuration, "the embedded broker does not start: \(error.message)", overdue: .temporary) }
        guard let runFiles else { return }
        do {
            announcement = try runFiles.announce(bootstrapServers)
        } catch {
            let reason = "\(runFiles.directory) cannot be used (\(error.localizedDescription))"
            logger.warning("other commands will not find this broker by themselves: \(reason)")
        }
    }

    /// Withdraws the announcement and then stops the broker, so that no command finds a stopped one.
    func stop() {
        announcement = nil
        broker = nil
    }
}
