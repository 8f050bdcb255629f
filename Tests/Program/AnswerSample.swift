import JuiceMessages
import MessageSamples
import Testing

/// One answer of each sort, as the service writes it.
enum AnswerSample: CaseIterable {
    case made, short, rejected, restocked, cancelled, cancelRejected

    /// The commands that lead to the answer; the last one gets it.
    func commands(id: String, store: String) -> [OutgoingCommand] {
        let order = OutgoingCommand.order(id: id, store: store, juice: "kiwi")
        let cancel = OutgoingCommand.cancel(id: id, store: store)
        func kiwis(_ count: Int) -> OutgoingCommand {
            .restock(id: id, store: store, .set, [FruitAmount(fruit: "kiwi", amount: count)])
        }
        return switch self {
        case .made: [order]
        case .short: [kiwis(1), order]
        // Text of a stranger.
        case .rejected: [.order(id: id, store: store, juice: "<b>durian</b>\n")]
        case .restocked: [kiwis(7)]
        case .cancelled: [order, cancel]
        case .cancelRejected: [order, kiwis(1_000_000_000), cancel]
        }
    }

    /// The value of the answer's record. A repeat is answered again.
    func record(id: String = "o", store: String = "gangnam", isRepeat: Bool = false) throws -> String {
        let shop = Shop(store: store)
        let (first, again) = try #require(try commands(id: id, store: store).map { try shop.answer($0) }.last)
        return isRepeat ? again : first
    }
}

extension Shop {
    /// The values of the records with the answers to a command and to a repeat of it.
    func answer(_ command: OutgoingCommand, at offset: Int64 = 1) throws -> (first: String, again: String) {
        let answered = answer(command.kind, String(decoding: command.value, as: UTF8.self), at: (offset, nil))
        let values = try #require(answered).values
        return (values[0], values[values.count - 1])
    }
}
