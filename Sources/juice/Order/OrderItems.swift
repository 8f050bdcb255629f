import ArgumentParser
import JuiceMaker
import JuiceMessages

/// The juices on `juice order`'s command line: each `NAME`, or `NAME:COUNT`.
struct OrderItems: Equatable {
    static let help = ArgumentHelp(
        "A juice's id, name or alias, and how many of it, from 1 to 100; at most 20 of these. (default: 1)",
        valueName: "juice[:count]")

    let items: [OrderedJuice]

    private struct Argument {
        let juice: String
        let quantity: Int?
    }

    /// Parses the arguments.
    ///
    /// - Parameters:
    ///   - arguments: at least one.
    ///   - settings: may have the quantity of a single juice.
    ///   - names: finds the juices; nil leaves names and quantities to the service.
    /// - Throws: ``Failure`` of status ``Failure/Status/usage``.
    init(_ arguments: [String], _ settings: Settings, _ names: MenuNames?) throws(Failure) {
        let quantities = names == nil ? .min ... .max : JuiceOrder.quantities
        guard names == nil || arguments.count <= JuiceOrder.mostItems else {
            throw Failure(
                .usage, "an order has at most \(JuiceOrder.mostItems) juices, not \(arguments.count)",
                hint: "juice:count orders several of one juice")
        }
        var parsed: [Argument] = []
        for argument in arguments { parsed.append(try Self.parse(argument, quantities, names)) }
        let quantity = try settings.integer(.quantity, in: quantities)
        if quantity != nil, let source = settings.all(.quantity).first?.source {
            guard parsed.count == 1, parsed[0].quantity == nil else {
                throw .badSetting(
                    .quantity, source, "is for one juice without a count of its own: write juice:count for each instead")
            }
        }
        items = parsed.map { OrderedJuice(juice: $0.juice, quantity: $0.quantity ?? quantity ?? 1) }
    }

    /// A name on the menu may end like a count, so the whole argument is looked up first.
    private static func parse(_ argument: String, _ quantities: ClosedRange<Int>, _ names: MenuNames?) throws(Failure) -> Argument {
        if let juice = try? names?.juice(argument) { return Argument(juice: juice, quantity: nil) }
        guard let colon = argument.lastIndex(of: ":"), case let digits = argument[argument.index(after: colon)...],
            digits.wholeMatch(of: /[0-9]+/) != nil
        else { return Argument(juice: try names?.juice(argument) ?? argument, quantity: nil) }
        guard let quantity = Int(digits), quantities.contains(quantity) else {
            throw Failure(
                .usage,
                "the count in \"\(argument.printable)\" must be a whole number, from \(quantities.lowerBound) to "
                    + "\(quantities.upperBound)")
        }
        let name = String(argument[..<colon])
        return Argument(juice: try names?.juice(name) ?? name, quantity: quantity)
    }
}
