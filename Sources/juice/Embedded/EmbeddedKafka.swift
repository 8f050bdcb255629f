import Foundation
import JuiceClient
import JuiceMessages
import JuiceService
import Kafka
import Logging

/// An embedded broker with the service's topics, announced to this user's other commands.
///
/// Starting and stopping it blocks briefly, so use it on the main thread.
final class EmbeddedKafka {
    let runFile: RunFile
    private var broker: EmbeddedBroker?
    private var announcement: RunFiles.Announcement?

    /// Starts the broker.
    ///
    /// - Parameter runFiles: where to announce the broker; nil does not announce it.
    init(topics: TopicNames, partitions: Int, runFiles: RunFiles?, logger: Logger) throws(Failure) {
        do throws(KafkaError) {
            let broker = try EmbeddedBroker(logger: logger)
            for name in topics.all { try broker.createTopic(name, partitionCount: partitions) }
            runFile = RunFile(processID: ProcessInfo.processInfo.processIdentifier, bootstrapServers: broker.bootstrapServers)
            self.broker = broker
        } catch { throw Failure(.software, "the embedded broker does not start: \(error)") }
        guard let runFiles else { return }
        do {
            announcement = try runFiles.announce(runFile)
        } catch {
            logger.warning(
                """
                other commands will not find this broker by themselves: \(runFiles.directory) cannot be used \
                (\(error.localizedDescription))
                """
            )
        }
    }

    var bootstrapServers: String { runFile.bootstrapServers }

    /// Withdraws the announcement and then stops the broker, so that no command finds a stopped one.
    func stop() {
        announcement = nil
        broker = nil
    }
}
