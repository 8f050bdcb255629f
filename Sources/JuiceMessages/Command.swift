import JuiceDomain

/// The kinds of commands to a store.
public enum CommandKind: Sendable, CaseIterable {
    case order
    case restock
    /// Takes an order back. It has the order's id.
    case cancel

    /// The longest command, in bytes. A longer record goes to the dead letters.
    public static let maximumLength = 64 * 1024

    /// The longest id, in bytes.
    public static let maximumIDLength = 128

    /// The prefix of ids from the kiosk's pages, and of no others, so that a page cannot use up an id that a till is about to use.
    package static let kioskPrefix = "kiosk-"

    /// The topic that commands of this kind are read from.
    public var inputTopic: InputTopic {
        switch self {
        case .order, .cancel: .orders
        case .restock: .restocks
        }
    }

    /// The same topic among all topics.
    public var topic: Topic { inputTopic.topic }

    /// The name of the field with a command's id.
    public var idField: StaticString {
        switch self {
        case .order, .cancel: "orderId"
        case .restock: "restockId"
        }
    }

    /// The kind in whose place it is looked up and remembered: for a cancel, an order.
    package var ofID: CommandKind { self == .cancel ? .order : self }

    /// The ASCII letter that distinguishes, in hashes, commands of different kinds with the same id.
    package var letter: UInt8 {
        switch self {
        case .order: UInt8(ascii: "o")
        case .cancel: UInt8(ascii: "c")
        case .restock: UInt8(ascii: "r")
        }
    }
}

/// What an input record is. It cannot be copied, so that taking a command out of it costs no reference counting.
public enum DecodedRecord: ~Copyable {
    /// A command to answer. Its id is valid until the decoder decodes again.
    case command(CommandKind, id: BorrowedText, CommandContent)
    /// A record that cannot be answered: a dead letter.
    case undecodable(DeadLetterReason)
}

/// What a command asks for.
public enum CommandContent: Equatable {
    case make(JuiceOrder)
    /// Take back the order with the same id.
    case cancel
    /// Change the stock of at least one fruit.
    case apply(StockEdit)
    /// Nothing that can be done: the answer is this rejection.
    case reject(Rejection)
}

/// Decodes the values of records into commands.
///
/// If a value has several faults, the first in this order is reported:
///
/// 1. no value, too large, not JSON, nested too deep, not an object;
/// 2. the id: that of the other topic's commands, missing, then bad. Up to here the record is a dead letter; all further faults
///    are answered with a rejection;
/// 3. on the orders topic, `cancel`: given twice, not a boolean. Nothing else of a cancel is checked;
/// 4. for an order, `juice` and `items`: one given twice, both given, neither given;
/// 5. for an order of one juice, the juice: not a string, unknown; then the quantity: given twice, bad;
/// 6. for a basket, a quantity beside the items; the items: not an array, none, too many; then each item: not an object, and as
///    for an order of one juice;
/// 7. for a restock, `add` and `set`: one given twice, both given, neither given, not an object, empty; then
///    the fruits in the order given, each of them unknown, given twice, or with a bad amount.
///
/// A service that knows its stores reports ``Rejection/unknownStore(_:)`` before the faults from 3 on.
///
/// A field that is `null` counts as not given, because many senders write unset fields that way: an order with
/// `"quantity":null` is for one juice. So does a `cancel` that is `false`. Fields that are not part of a command are ignored,
/// whatever their values.
///
/// Decoding an order of one juice allocates no memory. One decoder is for one thread, and its results are valid until it
/// decodes again.
public final class CommandDecoder {
    private let reader = JSONReader(capacity: CommandKind.maximumLength)
    private let juices: ByteKeyTable
    private let fruits: ByteKeyTable

    /// A decoder of commands for this menu's juices and fruits.
    public init(menu: Menu) {
        juices = ByteKeyTable(keys: menu.juices.lazy.map(\.id))
        fruits = ByteKeyTable(keys: menu.fruits.lazy.map(\.id))
    }

    /// Reads the value of a record of an input.
    public func decode(_ value: UnsafeRawBufferPointer?, of topic: InputTopic) -> DecodedRecord {
        do throws(DeadLetterReason) {
            let members = CommandMembers(of: try object(in: value))
            switch topic {
            case .orders:
                let id = try id(members.orderID, not: members.restockID)
                do throws(Rejection) {
                    if try isCancel(members) { return .command(.cancel, id: id, .cancel) }
                    return .command(.order, id: id, .make(try order(members)))
                } catch { return .command(.order, id: id, .reject(error)) }
            case .restocks:
                let id = try id(members.restockID, not: members.orderID)
                do throws(Rejection) {
                    return .command(.restock, id: id, .apply(try edit(members)))
                } catch { return .command(.restock, id: id, .reject(error)) }
            }
        } catch { return .undecodable(error) }
    }
}

// MARK: - What every command has

/// The members of a command or of an item, found in one pass. Members with other names are ignored.
private struct CommandMembers {
    private(set) var orderID = JSONObject.Member.absent
    private(set) var juice = JSONObject.Member.absent
    private(set) var quantity = JSONObject.Member.absent
    private(set) var items = JSONObject.Member.absent
    private(set) var cancel = JSONObject.Member.absent
    private(set) var restockID = JSONObject.Member.absent
    private(set) var add = JSONObject.Member.absent
    private(set) var set = JSONObject.Member.absent

    @inline(__always)
    init(of object: JSONObject) {
        for (key, value) in object {
            switch key {
            case "orderId": orderID.add(value)
            case "juice": juice.add(value)
            case "quantity": quantity.add(value)
            case "items": items.add(value)
            case "cancel": cancel.add(value)
            case "restockId": restockID.add(value)
            case "add": add.add(value)
            case "set": set.add(value)
            default: break
            }
        }
    }
}

extension CommandDecoder {
    private func object(in value: UnsafeRawBufferPointer?) throws(DeadLetterReason) -> JSONObject {
        guard let value, !value.isEmpty else { throw .emptyValue }
        guard value.count <= CommandKind.maximumLength else { throw .tooLarge }
        do throws(JSONError) {
            if let object = try reader.read(value).object { return object }
        } catch {
            // The other errors are .notJSON: a command's size limit is far below the reader's.
            if error == .tooDeep { throw .tooDeep }
        }
        throw .notJSON
    }

    private func id(_ member: JSONObject.Member, not other: JSONObject.Member) throws(DeadLetterReason) -> BorrowedText {
        switch member {
        case .absent: throw other.string == nil ? .missingID : .wrongTopic
        case .repeated: throw .badID
        case .value(let value) where value.isNull: throw .missingID
        case .value(let value):
            guard let id = value.string, (1...CommandKind.maximumIDLength).contains(id.bytes.count) else { throw .badID }
            return id
        }
    }

    @inline(__always)
    private func given(_ member: JSONObject.Member, _ field: String) throws(Rejection) -> JSONValue? {
        switch member {
        case .absent: nil
        case .repeated: throw .badCommand(.repeatedField(field))
        case .value(let value): value.isNull ? nil : value
        }
    }
}

// MARK: - Orders

extension CommandDecoder {
    private func isCancel(_ members: CommandMembers) throws(Rejection) -> Bool {
        guard let value = try given(members.cancel, "cancel") else { return false }
        guard let isCancel = value.boolean else { throw .badCommand(.notBoolean("cancel")) }
        return isCancel
    }

    @inline(__always)
    private func order(_ members: CommandMembers) throws(Rejection) -> JuiceOrder {
        if case .repeated = members.juice { throw .badCommand(.repeatedField("juice")) }
        guard let items = try given(members.items, "items") else { return .single(try item(members)) }
        guard try given(members.juice, "juice") == nil else { throw .badCommand(.juiceAndItems) }
        guard try given(members.quantity, "quantity") == nil else { throw .badCommand(.quantityAndItems) }
        return .basket(try basket(items))
    }

    private func basket(_ value: JSONValue) throws(Rejection) -> [OrderItem] {
        guard let list = value.array else { throw .badCommand(.notAnArray("items")) }
        let count = list.reduce(0) { count, _ in count + 1 }
        guard count > 0 else { throw .badCommand(.noItems) }
        guard count <= JuiceOrder.mostItems else { throw .badCommand(.tooManyItems) }
        var items: [OrderItem] = []
        items.reserveCapacity(count)
        for value in list {
            guard let object = value.object else { throw .badCommand(.itemNotAnObject) }
            items.add(try item(CommandMembers(of: object)))
        }
        return items
    }

    @inline(__always)
    private func item(_ members: CommandMembers) throws(Rejection) -> OrderItem {
        guard let value = try given(members.juice, "juice") else { throw .badCommand(.missingJuice) }
        guard let id = value.string else { throw .badCommand(.juiceNotText) }
        guard let juice = juices.find(id.bytes) else { throw .unknownJuice(id.clipped()) }
        return OrderItem(juice: juice, quantity: try quantity(members.quantity))
    }

    @inline(__always)
    private func quantity(_ member: JSONObject.Member) throws(Rejection) -> Int {
        guard let value = try given(member, "quantity") else { return 1 }
        guard let quantity = value.integer, JuiceOrder.quantities.contains(quantity) else { throw .badQuantity }
        return quantity
    }
}

// MARK: - Restocks

extension CommandDecoder {
    private func edit(_ members: CommandMembers) throws(Rejection) -> StockEdit {
        switch (try given(members.add, "add"), try given(members.set, "set")) {
        case (nil, nil): throw .emptyRestock
        case (.some, .some): throw .badCommand(.addAndSet)
        case (let amounts?, nil): return StockEdit(.add, try entries(of: amounts, "add"))
        case (nil, let amounts?): return StockEdit(.set, try entries(of: amounts, "set"))
        }
    }

    private func entries(of value: JSONValue, _ field: String) throws(Rejection) -> [StockEdit.Entry] {
        guard let amounts = value.object else { throw .badCommand(.notAnObject(field)) }
        guard !amounts.isEmpty else { throw .emptyRestock }
        var entries: [StockEdit.Entry] = []
        for (id, value) in amounts {
            guard let fruit = fruits.find(id.bytes) else { throw .unknownFruit(id.clipped()) }
            guard !entries.contains(where: { $0.fruit == fruit }) else { throw .badCommand(.repeatedFruit(fruit: fruit)) }
            guard let amount = value.integer else { throw .badAmount(fruit: fruit) }
            entries.append(StockEdit.Entry(fruit: fruit, amount: amount))
        }
        return entries
    }
}
