import Metrics

/// The service's metrics, kept through swift-metrics. Names include units.
package enum ServiceMetric: String, CaseIterable {
    case ready = "juice_ready"
    case commands = "juice_commands_total"
    case duplicates = "juice_duplicates_total"
    case answersLost = "juice_answers_lost_total"
    case deadLetters = "juice_dead_letters_total"
    case forwards = "juice_forwards_total"
    case transactions = "juice_transactions_total"
    case transactionDuration = "juice_transaction_duration_seconds"
    case answerLatency = "juice_answer_latency_seconds"
    case clockDifference = "juice_clock_difference_seconds"
    case committedOffset = "juice_committed_offset"
    case consumerLag = "juice_consumer_lag_records"
    case assignedPartitions = "juice_assigned_partitions"
    case stoppedPartitions = "juice_stopped_partitions"
    case wrongSettings = "juice_wrong_settings"
    case stores = "juice_stores"
    case rememberedCommands = "juice_remembered_commands"
    case answersReadBack = "juice_answers_read_back_total"
    case lostBeginnings = "juice_lost_beginnings_total"
    case restoreDuration = "juice_restore_duration_seconds"
    case restoredRecords = "juice_restored_records_total"
    case restoreRemaining = "juice_restore_remaining_records"
    case kafkaRoundTrip = "juice_kafka_round_trip_seconds"

    /// What it counts or measures, in one sentence.
    package var help: String {
        switch self {
        case .ready: "1 while every worker has restored the partitions that are due to it and reads them, else 0."
        case .commands: "Commands answered for the first time and committed, by result."
        case .duplicates: "Repeated commands that were given their first answer again."
        case .answersLost: "Repeats, and cancels of orders that were made, whose first answer is lost: answered with answerLost."
        case .deadLetters: "Records written to the dead letters: they name no command, or cannot be answered."
        case .forwards: "Commands handed on to the partition that owns their store."
        case .transactions: "Kafka transactions that took in commands, by outcome; failed are those that were given up."
        case .transactionDuration: "Time from the beginning of a transaction to its confirmed commit."
        case .answerLatency: "Time from a command's credible timestamp to the confirmed commit of its answer."
        case .clockDifference:
            "By how much the times of most new commands lie ahead of this machine's clock; negative if they lie behind it."
        case .committedOffset: "Next offset to read of an input partition: every record before it is handled."
        case .consumerLag: "Records of an input partition that are not answered yet, markers included."
        case .assignedPartitions: "Partitions that a worker has restored and reads."
        case .stoppedPartitions:
            "Partitions that a worker does not read: an operator has to fix them, or their transactions only fail."
        case .wrongSettings: "Settings of topics with which answers may be lost or given twice, as of the last look, each 5 s."
        case .stores: "Stores held in memory: those that were ever changed."
        case .rememberedCommands: "Commands whose repeats are known."
        case .answersReadBack: "First answers read back from the results, since a repeat asked for one that was not in memory."
        case .lostBeginnings: "Times that answers were found deleted from the results before repeats stopped asking for them."
        case .restoreDuration: "Time from an assignment until all of its partitions are restored and read."
        case .restoredRecords: "Stock records and answers read to restore state."
        case .restoreRemaining: "Offsets still to be read by the restore that is under way, markers and gaps included."
        case .kafkaRoundTrip: "Time in which a broker answered the last probe, one a second; 0 if none answered."
        }
    }
}

extension MetricsFactory {
    func counter(_ metric: ServiceMetric, _ dimensions: [(String, String)] = []) -> Counter {
        Counter(label: metric.rawValue, dimensions: dimensions, factory: self)
    }

    /// A gauge that starts at 0.
    func gauge(_ metric: ServiceMetric, _ dimensions: [(String, String)] = []) -> Gauge {
        let gauge = Gauge(label: metric.rawValue, dimensions: dimensions, factory: self)
        gauge.record(0)
        return gauge
    }

    func timer(_ metric: ServiceMetric) -> Timer {
        Timer(label: metric.rawValue, dimensions: [], preferredDisplayUnit: .seconds, factory: self)
    }
}
